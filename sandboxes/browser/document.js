// Runs before all else in each document: chance is ours, windows open for clicks only, no machine is told from another.
(() => {
  const open = window.open;
  window.open = (...given) => navigator.userActivation.isActive ? open.apply(window, given) : null;
  let state = SEED;
  const next = () => {
    state = (state + 0x6D2B79F5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  Math.random = next;
  crypto.getRandomValues = a => {
    for (let i = 0; i < a.length; i++) a[i] = Math.floor(next() * 4294967296);
    return a;
  };
  Object.defineProperty(Navigator.prototype, "hardwareConcurrency", { get: () => 4 });
  delete Navigator.prototype.connection;  // how fast the network seems
  for (const type of ["mousemove", "pointermove"]) {
    let last;
    window.addEventListener(type, event => {  // a mouse that rests: only what comes to lie under it is to learn of it
      const at = `${event.screenX} ${event.screenY}`;
      if (event.isTrusted && at === last) event.stopImmediatePropagation();
      last = at;
    }, true);
  }
  document.addEventListener("DOMContentLoaded", () => {  // else with the first frame, when a step is over
    const first = document.querySelector("[autofocus]");
    if (first && document.activeElement === document.body) first.focus();
  });
})();
