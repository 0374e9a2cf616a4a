// A private file system as browsers give it to workers, in memory: folders, files, and handles that read and write at once.

/** An empty one, with ways in for who damages it. */
export function memoryDirectory() {
  const missing = (name) => new DOMException(`there is no ${name}`, "NotFoundError");
  const folders = new Map();

  class File {
    bytes = Buffer.alloc(0);
    open = false;

    async createSyncAccessHandle() {
      if (this.open) throw new DOMException("somebody has it", "NoModificationAllowedError");
      this.open = true;
      return {
        read: (into, { at }) => this.bytes.copy(Buffer.from(into.buffer, into.byteOffset, into.byteLength), 0, at),
        write: (from, { at }) => {
          if (at + from.length > this.bytes.length) this.bytes = Buffer.concat([this.bytes, Buffer.alloc(at + from.length - this.bytes.length)]);
          this.bytes.set(from, at);
          return from.length;
        },
        flush: () => {},
        truncate: (size) => {
          this.bytes =
            size <= this.bytes.length ? Buffer.from(this.bytes.subarray(0, size)) : Buffer.concat([this.bytes, Buffer.alloc(size - this.bytes.length)]);
        },
        getSize: () => this.bytes.length,
        close: () => void (this.open = false),
      };
    }
  }

  const folder = (files) => ({
    async getFileHandle(name, { create }) {
      if (!files.has(name)) {
        if (!create) throw missing(name);
        files.set(name, new File());
      }
      return files.get(name);
    },
    async removeEntry(name) {
      if (!files.delete(name)) throw missing(name);
    },
    async *keys() {
      yield* [...files.keys()];
    },
  });
  const filesOf = (name) => {
    if (!folders.has(name)) folders.set(name, new Map());
    return folders.get(name);
  };
  return {
    root: { getDirectoryHandle: async (name) => folder(filesOf(name)) },
    /** Replaces all files of a folder. */
    write(name, files) {
      const all = filesOf(name);
      all.clear();
      for (const [file, bytes] of files) all.set(file, Object.assign(new File(), { bytes: Buffer.from(bytes) }));
    },
    /** The files of a folder. */
    files: (name) => new Map([...filesOf(name)].filter(([file]) => file !== "lock").map(([file, { bytes }]) => [file, Buffer.from(bytes)])),
  };
}
