"use strict";
const start = (box) => {
  const svg = box.querySelector("svg");
  const tools = box.parentElement.querySelector(".tools");
  const rows = svg.querySelector("[id$='-rows']");
  const size = { width: Number(svg.dataset.width), height: Number(svg.dataset.height) };
  const first = svg.getBoundingClientRect().height / size.height;
  const steps = { least: 0.15, most: 6, by: 1.25 };
  let scale = first;

  // Owners' names stay at the left, whatever is shown.
  const backdrop = document.createElementNS(svg.namespaceURI, "rect");
  if (rows) {
    const names = rows.getBBox();
    const margin = { x: -1e4, y: names.y - 6, width: 1e4 + names.x + names.width + 2 };
    Object.entries({ ...margin, height: names.height + 12, fill: "#ffffff" })
      .forEach(([name, value]) => backdrop.setAttribute(name, value));
    rows.parentNode.append(rows);
    rows.prepend(backdrop);
  }
  const follow = () => {
    if (rows) rows.setAttribute("transform", `translate(${box.scrollLeft / scale} 0)`);
  };

  const zoom = (wanted, x = box.clientWidth / 2, y = box.clientHeight / 2) => {
    const next = Math.min(steps.most, Math.max(steps.least, wanted));
    const at = [(box.scrollLeft + x) / scale, (box.scrollTop + y) / scale];
    scale = next;
    svg.style.width = `${size.width * scale}px`;
    svg.style.height = `${size.height * scale}px`;
    box.scrollLeft = at[0] * scale - x;
    box.scrollTop = at[1] * scale - y;
    follow();
  };
  const reset = () => { zoom(first); box.scrollTo(0, 0); follow(); };
  const acts = {
    in: () => zoom(scale * steps.by), out: () => zoom(scale / steps.by), reset,
  };
  tools.hidden = false;
  tools.addEventListener("click", (event) => {
    const act = acts[event.target.dataset.zoom];
    if (act) act();
  });

  const keys = {
    "+": acts.in, "=": acts.in, "-": acts.out, "0": reset,
    ArrowLeft: () => box.scrollBy(-80, 0), ArrowRight: () => box.scrollBy(80, 0),
    ArrowUp: () => box.scrollBy(0, -60), ArrowDown: () => box.scrollBy(0, 60),
    Home: () => box.scrollTo(0, box.scrollTop),
    End: () => box.scrollTo(box.scrollWidth, box.scrollTop),
  };
  box.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const frame = box.getBoundingClientRect();
    const factor = event.deltaY < 0 ? steps.by : 1 / steps.by;
    zoom(scale * factor, event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  box.addEventListener("scroll", follow, { passive: true });

  let held = null;
  box.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    held = { x: event.clientX + box.scrollLeft, y: event.clientY + box.scrollTop };
    box.classList.add("held");
    box.setPointerCapture(event.pointerId);
    box.focus({ preventScroll: true });
    event.preventDefault();
  });
  box.addEventListener("pointermove", (event) => {
    if (held) box.scrollTo(held.x - event.clientX, held.y - event.clientY);
  });
  const release = () => { held = null; box.classList.remove("held"); };
  box.addEventListener("pointerup", release);
  box.addEventListener("pointercancel", release);

  // Two fingers zoom.
  let apart = null;
  const distance = (touches) => Math.hypot(
    touches[0].clientX - touches[1].clientX, touches[0].clientY - touches[1].clientY,
  );
  box.addEventListener("touchstart", (event) => {
    apart = event.touches.length === 2 ? { from: distance(event.touches), scale } : null;
  }, { passive: true });
  box.addEventListener("touchmove", (event) => {
    if (!apart || event.touches.length !== 2) return;
    event.preventDefault();
    zoom(apart.scale * distance(event.touches) / apart.from);
  }, { passive: false });
  zoom(first);
  box.scrollTo(0, 0);
};
for (const box of document.querySelectorAll(".movable")) {
  // Sizes are known when the part that contains the diagram is open.
  box.closest("details").addEventListener("toggle", () => start(box), { once: true });
}
