"use strict";
(() => {
  const root = document.documentElement;
  const THEMES = ["auto", "light", "dark"];
  let theme = "auto";
  try {
    theme = localStorage.getItem("convlab-theme") || "auto";
  } catch { /* a page from a file may have no storage */ }
  const wear = () => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  if (!THEMES.includes(theme)) theme = "auto";
  wear();

  const open = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    const task = target && target.closest("details");
    if (!task) return;
    task.hidden = false;
    task.open = true;
    target.scrollIntoView();
  };

  const themes = () => {
    const button = document.getElementById("theme");
    const tell = () => { button.lastChild.textContent = theme; };
    button.addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      try { localStorage.setItem("convlab-theme", theme); } catch { /* as above */ }
      wear();
      tell();
    });
    button.hidden = false;
    tell();
  };

  const filters = () => {
    const bar = document.getElementById("filter");
    const words = bar.querySelector("input");
    const only = bar.querySelector("button");
    const said = bar.querySelector("output");
    const tasks = [...document.querySelectorAll("details.task")];
    const apply = () => {
      const bad = only.getAttribute("aria-pressed") === "true";
      const text = words.value.trim().toLowerCase();
      let shown = 0;
      for (const task of tasks) {
        const fits = task.dataset.words.includes(text);
        task.hidden = !fits || (bad && task.dataset.bad === "0");
        shown += !task.hidden;
      }
      for (const lab of document.querySelectorAll("section.lab")) {
        lab.hidden = !lab.querySelector("details.task:not([hidden])");
      }
      said.textContent = `${shown} of ${tasks.length}`;
    };
    only.addEventListener("click", () => {
      const pressed = only.getAttribute("aria-pressed") === "true";
      only.setAttribute("aria-pressed", String(!pressed));
      apply();
    });
    words.addEventListener("input", apply);
    bar.hidden = false;
    apply();
  };

  const copies = () => {
    for (const command of document.querySelectorAll("p.replay code")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "copy";
      button.setAttribute("aria-label", `copy the command ${command.textContent}`);
      button.addEventListener("click", async () => {
        let done = true;
        try {
          await navigator.clipboard.writeText(command.textContent);
        } catch {
          getSelection().selectAllChildren(command);
          done = document.execCommand("copy");
        }
        button.textContent = done ? "copied" : "press Ctrl+C";
        setTimeout(() => { button.textContent = "copy"; }, 1500);
      });
      command.after(button);
    }
  };

  const paper = () => {
    let folded = [];
    addEventListener("beforeprint", () => {
      folded = [...document.querySelectorAll("details:not([open])")];
      for (const one of folded) one.open = true;
    });
    addEventListener("afterprint", () => {
      for (const one of folded) one.open = false;
    });
  };

  addEventListener("DOMContentLoaded", () => {
    themes();
    filters();
    copies();
    paper();
    open();
  });
  addEventListener("hashchange", open);
})();
