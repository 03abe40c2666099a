// Taking it away: the picture, the plan and the script as files.

import { download } from "./dom.mjs";
import { planJson } from "./plan.mjs";

/** @typedef {import("./session.mjs").Session} Session */

/** @param {Session} session */
function stem({ content }) {
  return (content?.name ?? "output").replace(/\.[^.]*$/, "");
}

/**
 * The output, encoded by the worker from its very bytes and not from what the screen shows.
 * @param {Session} session
 */
export async function savePng(session) {
  const { png } = await session.call({ what: "png" });
  download(`${stem(session)}-matched.png`, png, "image/png");
}

/** @param {Session} session */
export function savePlan(session) {
  const plan = session.result?.plan;
  if (plan) download(`${stem(session)}-plan.json`, planJson(plan), "application/json");
}

/**
 * @param {Session} session
 * @param {string} script
 */
export function saveScript(session, script) {
  download(`${stem(session)}-matched.py`, script, "text/x-python");
}

/**
 * @param {HTMLElement} place where the script is shown
 * @returns {Promise<string>} what to tell the person
 */
export async function copyScript(place) {
  try {
    await navigator.clipboard.writeText(place.textContent ?? "");
    return "The script is on the clipboard.";
  } catch {
    getSelection()?.selectAllChildren(place); // a browser may keep its clipboard to itself
    return "The script is selected; copy it with the keyboard.";
  }
}
