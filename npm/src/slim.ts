// The same as the main entry, for those who say themselves where the WebAssembly lies: nothing here refers to a file of this
// package, so bundlers copy none. `init(source, { part })` comes before everything else; without it the first thing that needs
// the module rejects with `init-failed`.

export * from "./surface.js";
