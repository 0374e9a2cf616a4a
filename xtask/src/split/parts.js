let read = async (file, url) => {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answers ${answer.status} ${answer.statusText}`.trimEnd());
  return answer.arrayBuffer();
};
export const readWith = (other) => {
  read = other;
};
// A failure is forgotten, so that the next call tries again.
const once = (start) => {
  let going;
  return () =>
    (going ??= start().catch((error) => {
      going = undefined;
      throw error;
    }));
};
const compiled = async (file, url) => {
  const found = await read(file, url);
  const module = found instanceof WebAssembly.Module ? found : await WebAssembly.compile(found);
  const [built] = WebAssembly.Module.customSections(module, SECTION);
  // It would write into memory at places that mean something else here.
  if (built === undefined || new TextDecoder().decode(built) !== BUILD) throw new Error(`${file} belongs to another build`);
  return module;
};
const start = async (module) => {
  const rest = initSync();
  await WebAssembly.instantiate(module, { __wasm_split: rest, main: rest });
};
const all = async (files) => {
  await Promise.all(files.map((file) => file()));
};
// What the module itself calls: `callback` is a function of its table, which is told whether the part is there.
const called = (part) => async (callback, data) => {
  const there = await part().then(
    () => 1,
    (error) => {
      console.error(error);
      return 0;
    },
  );
  initSync().__indirect_function_table.get(callback)(data, there);
};
