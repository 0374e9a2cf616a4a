"use client";

import { useEffect, useState } from "react";
import { Threadkeep } from "threadkeep";
import { sample } from "../../shared/sample.js";

export default function Page() {
  const [said, say] = useState(null);
  useEffect(() => {
    sample(Threadkeep).then(
      (value) => say(JSON.stringify(value)),
      (error) => say(JSON.stringify({ error: `${error.code ?? error.name}: ${error.message}` })),
    );
  }, []);
  return said === null ? null : <pre id="page">{said}</pre>;
}
