// Calls of functions in the worker.

/**
 * Starts the worker from the source inside the page: a file of its own could not be loaded from a local page.
 * @param {string} source
 * @returns {(request: Record<string, unknown>, transfer?: Transferable[]) => Promise<any>}
 */
export function startWorker(source) {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(address);
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map();
  let last = 0;
  worker.onmessage = ({ data }) => {
    const call = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error) call?.reject(new Error(data.error));
    else call?.resolve(data.result);
  };
  return (request, transfer = []) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      worker.postMessage({ ...request, id }, transfer);
    });
}
