// The default theme in the page's colours, and a component for examples that run where they stand.
import { onMounted, watch } from "vue";
import { useData } from "vitepress";
import Theme from "vitepress/theme";
import Example from "./Example.vue";
import "./style.css";

export default {
  extends: Theme,
  enhanceApp: ({ app }) => app.component("Example", Example),
  setup() {
    // The theme gives every page but the first a main landmark.
    const { frontmatter } = useData();
    const mark = () => {
      const content = document.getElementById("VPContent");
      if (frontmatter.value.layout === "home") content?.setAttribute("role", "main");
      else content?.removeAttribute("role");
    };
    onMounted(mark);
    watch(frontmatter, mark, { flush: "post" });
  },
};
