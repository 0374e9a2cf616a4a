import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  // Service workers are modules at a name that stays.
  build: {
    rolldownOptions: {
      input: { main: "index.html", service: "service.js" },
      output: { entryFileNames: ({ name }) => (name === "service" ? "service.js" : "assets/[name]-[hash].js") },
    },
  },
  worker: { format: "es" },
});
