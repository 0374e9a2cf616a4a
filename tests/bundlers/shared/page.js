// Runs the sample in the page, in a worker and in a service worker, and leaves what each said where a test reads it.

/** `worker` and `registration` are what the bundler made of `new Worker(…)` and `serviceWorker.register(…)`. */
export function show(name, answer) {
  const text = Promise.resolve(answer).then(
    (value) => JSON.stringify(value),
    (error) => JSON.stringify({ error: `${error.code ?? error.name}: ${error.message}` }),
  );
  text.then((words) => {
    const line = document.createElement("pre");
    line.id = name;
    line.textContent = words;
    document.body.append(line);
  });
}

/** What a worker answers when it is asked. */
export function ask(worker) {
  return new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => (data.error === undefined ? resolve(data) : reject(new Error(data.error)));
    worker.onerror = (event) => reject(new Error(event.message ?? "the worker cannot be loaded"));
    worker.postMessage("sample", [port2]);
  });
}

/** Waits until a service worker has taken up its work, and asks it. */
export async function askService(registration) {
  const { installing, waiting, active } = await registration;
  const worker = installing ?? waiting ?? active;
  await new Promise((resolve, reject) => {
    const look = () => (worker.state === "activated" ? resolve() : worker.state === "redundant" && reject(new Error("it could not be installed")));
    worker.addEventListener("statechange", look);
    look();
  });
  return ask(worker);
}
