/** The version of this package. A test holds it equal to package.json's, and `init` to the wasm's. */
export const VERSION: string = "0.1.0";
