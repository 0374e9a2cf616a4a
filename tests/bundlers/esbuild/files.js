// esbuild does not see `new URL("…", import.meta.url)`; imported under the loader `file`, each file is copied and gives its address.
import agent from "threadkeep/agent.wasm";
import archives from "threadkeep/archives.wasm";
import o200k_base from "threadkeep/o200k_base.gz";
import prompts from "threadkeep/prompts.wasm";
import search from "threadkeep/search.wasm";
import shared from "threadkeep/shared.wasm";
import module from "threadkeep/threadkeep.wasm";
import { init } from "threadkeep/slim";

const parts = { "agent.wasm": agent, "archives.wasm": archives, "o200k_base.gz": o200k_base, "prompts.wasm": prompts, "search.wasm": search, "shared.wasm": shared };

/** Loads the module from where esbuild copied it. */
export const ready = () => init(module, { part: (file) => parts[file] });
