// The search runs in a worker, which browsers refuse to pages that were opened from the file system. There, and only
// there, it runs in a hidden frame of the page instead. Zensical would load a script for this from another site; it
// leaves that be where a script whose name has "iframe-worker" in it is listed already (zensical.toml).
if (location.protocol === "file:") {
  window.Worker = class {
    #waiting = [];
    #frame = document.createElement("iframe");

    constructor(url) {
      this.#frame.hidden = true;
      this.#frame.srcdoc = "<!doctype html>";
      this.#frame.addEventListener("load", () => this.#start(url), { once: true });
      document.documentElement.append(this.#frame);
    }

    postMessage(data) {
      const copy = structuredClone(data); // what a worker is sent is its own
      if (this.#waiting) this.#waiting.push(copy);
      else setTimeout(() => this.#frame.contentWindow?.onmessage({ data: copy })); // and it never answers within a call
    }

    terminate() {
      this.#frame.remove();
    }

    #start(url) {
      const inside = this.#frame.contentWindow;
      if (!inside) return; // ended before it began
      inside.postMessage = (data) => {
        const copy = structuredClone(data);
        setTimeout(() => this.onmessage?.({ data: copy }));
      };
      const script = inside.document.createElement("script");
      script.src = new URL(url, document.baseURI);
      script.onerror = () => this.onerror?.(new ErrorEvent("error", { message: `${url} does not load` }));
      script.onload = () => {
        const waiting = this.#waiting;
        this.#waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      };
      inside.document.head.append(script);
    }
  };
}
