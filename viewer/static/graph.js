// Zoom by buttons or Ctrl and wheel, move by dragging; without this the graph scrolls as it is.
const box = document.querySelector("[data-graph]");
const svg = box.querySelector("svg");
const size = svg.viewBox.baseVal;
const tools = document.querySelector("[data-graph-tools]");
const LEAST = 0.08, MOST = 4, LABELS = 1.4, START = 0.8;
let scale = 1;

function zoom(to, x = box.clientWidth / 2, y = box.clientHeight / 2) {
  const next = Math.min(MOST, Math.max(LEAST, to));
  const left = (box.scrollLeft + x) / scale, top = (box.scrollTop + y) / scale;
  scale = next;
  svg.setAttribute("width", size.width * scale);
  svg.setAttribute("height", size.height * scale);
  svg.classList.toggle("near", scale >= LABELS);
  box.scrollTo(left * scale - x, top * scale - y);
}

const fit = () => Math.min(box.clientWidth / size.width, 640 / size.height, 1.6) * 0.98;
const steps = { in: () => zoom(scale * 1.3), out: () => zoom(scale / 1.3), fit: () => zoom(fit()) };
tools.hidden = false;
for (const button of tools.querySelectorAll("[data-zoom]")) button.addEventListener("click", steps[button.dataset.zoom]);
box.addEventListener("wheel", (event) => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  const edge = box.getBoundingClientRect();
  zoom(scale * Math.exp(-event.deltaY / 400), event.clientX - edge.left, event.clientY - edge.top);
}, { passive: false });

let drag = null;
box.addEventListener("pointerdown", (event) => {
  if (event.button === 0 && !event.target.closest("a")) drag = [event.clientX + box.scrollLeft, event.clientY + box.scrollTop];
});
addEventListener("pointermove", (event) => {
  if (drag) box.scrollTo(drag[0] - event.clientX, drag[1] - event.clientY);
});
addEventListener("pointerup", () => { drag = null; });

zoom(Math.max(fit(), START));
const circles = [...svg.querySelectorAll(".node circle")].sort((a, b) => a.cx.baseVal.value - b.cx.baseVal.value);
const chosen = svg.querySelector(".chosen circle") ?? circles[0];
if (chosen) {
  box.scrollTo(chosen.cx.baseVal.value * scale - box.clientWidth / 3, chosen.cy.baseVal.value * scale - box.clientHeight / 2);
}
