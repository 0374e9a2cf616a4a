// Where the files of this package lie: beside it. This is the only module that names them, so that bundlers copy them for
// whoever imports an entry with places, and copy nothing for `threadkeep/slim`. It is imported for what it does (package.json
// lists it in `sideEffects`): it hands functions over and does no more.

import { placed } from "./runtime.js";

// Written out, so that bundlers see each file.
placed({
  "threadkeep.wasm": () => new URL("../wasm/threadkeep_bg.wasm", import.meta.url),
  "agent.wasm": () => new URL("../wasm/agent.wasm", import.meta.url),
  "archives.wasm": () => new URL("../wasm/archives.wasm", import.meta.url),
  "manage.wasm": () => new URL("../wasm/manage.wasm", import.meta.url),
  "prompts.wasm": () => new URL("../wasm/prompts.wasm", import.meta.url),
  "search.wasm": () => new URL("../wasm/search.wasm", import.meta.url),
  "shared.wasm": () => new URL("../wasm/shared.wasm", import.meta.url),
  "o200k_base.gz": () => new URL("../vocabulary/o200k_base.gz", import.meta.url),
  "cl100k_base.gz": () => new URL("../vocabulary/cl100k_base.gz", import.meta.url),
});
