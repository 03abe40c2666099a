// Tables, formulas and pictures that are wider than the page fade out where there is more to see, and scroll by keyboard as well.
// Names of code in tables break between their parts.
// Captions of the menu get the level that the theme leaves out, so that screen readers announce them as headings.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll('.caption[role="heading"]:not([aria-level])')) caption.setAttribute("aria-level", "2");
  for (const cell of document.querySelectorAll("article td")) {
    if (cell.parentElement.cells.length > 3 && cell.textContent.trim().length > 24) cell.classList.add("long");
  }
  for (const cell of document.querySelectorAll("article td:not(:has(code))")) {
    const text = cell.textContent.trim(), columns = cell.parentElement.cells.length;
    if (text.length <= (/\d/.test(text) ? 20 : columns > 4 ? 16 : 0)) cell.classList.add("short");
  }
  for (const text of document.querySelectorAll("article td code .pre")) {
    const parts = text.textContent.split(/(?<=[._/=(,])(?=\w)/); // a long name breaks after these, and elsewhere only if it must
    if (parts.length > 1) text.replaceChildren(...parts.flatMap((part) => [part, document.createElement("wbr")]));
  }
  for (const wide of document.querySelectorAll(".table-wrapper, .math-wrapper, :is(p, figure):has(> img)")) {
    const fade = () => wide.classList.toggle("more", wide.scrollWidth - wide.clientWidth - wide.scrollLeft > 2);
    wide.addEventListener("scroll", fade, { passive: true });
    new ResizeObserver(() => {
      if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
      fade();
    }).observe(wide);
  }
});
