// Dark or light: what the system says, until the switch says otherwise. Loaded before the page is drawn.
const KEY = "cairn-theme";
const root = document.documentElement;

function stored() {
  try { return localStorage.getItem(KEY); } catch { return null; }
}

function isDark() {
  return (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}

if (stored() === "dark" || stored() === "light") root.dataset.theme = stored();

document.addEventListener("DOMContentLoaded", () => {
  const button = document.querySelector("[data-theme-switch]");
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  name();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem(KEY, root.dataset.theme); } catch { /* private windows keep nothing */ }
    name();
  });
});
