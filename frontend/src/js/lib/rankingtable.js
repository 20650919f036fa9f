// The ranking's table: more sort keys, picks for the comparison, and what a figure rests on.
import htmx from "./partial.js";
import { _ } from "./words.js";

const path = location.pathname;

// --- picks: kept in the address, so that every link and the next page carry them ---------------

const picked = () => new Set((new URL(location).searchParams.get("o") ?? "").split(",").filter(Boolean));

/** An address of this page with the picks of this moment. */
function withPicks(address) {
  const url = new URL(address, location);
  // Picks belong to this list; other pages have their own parameters.
  if (url.pathname !== path) return address;
  const picks = [...picked()].join(",");
  picks ? url.searchParams.set("o", picks) : url.searchParams.delete("o");
  return url.pathname + url.search.replaceAll("%2C", ",");
}

function pick(box) {
  const picks = picked();
  box.checked ? picks.add(box.value) : picks.delete(box.value);
  const url = new URL(location);
  picks.size ? url.searchParams.set("o", [...picks].join(",")) : url.searchParams.delete("o");
  // Replaced, not added: Back leads to the page before and not through every tick.
  history.replaceState(history.state, "", url.pathname + url.search.replaceAll("%2C", ","));
  for (const link of document.querySelectorAll("main a[href]")) {
    if (link.pathname === path && link.search) link.setAttribute("href", withPicks(link.href));
  }
  const text = picks.size
    ? _("Picked: {names}", { names: [...picks].join(", ") })
    : _("Tick two to six offers to see them side by side.");
  document.getElementById("picked").textContent = text;
  document.getElementById("compare").classList.toggle("filled", picks.size > 0);
}

function sendPicks(event) {
  const { detail } = event;
  detail.path = withPicks(detail.path);
  const picks = [...picked()].join(",");
  if (detail.path.includes("?")) return;
  if (picks) detail.parameters.o = picks;
  else delete detail.parameters.o;
}

// --- order ---------------------------------------------------------------------------------------

/** Sends the form above with one sort key more. */
function sortAlso(key) {
  const form = document.getElementById("ranking-form");
  const field = Object.assign(document.createElement("input"), { type: "hidden", name: "also", value: key });
  form.append(field);
  form.addEventListener("htmx:configRequest", () => field.remove(), { once: true });
  htmx.trigger(form, "submit");
}

function click(event) {
  const button = event.target.closest("button.also");
  const head = event.shiftKey && event.target.closest("thead a")?.parentElement.querySelector("button.also");
  const asked = button || head;
  if (!asked) return;
  event.preventDefault();
  event.stopPropagation();
  sortAlso(asked.value);
}

// --- what a figure rests on, shown while the keyboard is on it ------------------------------------

function explain(event) {
  const button = event.target.closest("button[popovertarget]");
  if (button?.matches(":focus-visible")) button.popoverTargetElement.showPopover({ source: button });
}

function cease(event) {
  const shown = event.target.closest("button[popovertarget]")?.popoverTargetElement;
  if (shown?.matches(":popover-open") && !shown.contains(event.relatedTarget)) shown.hidePopover();
}

// --- copying the address --------------------------------------------------------------------------

async function copyLink(event) {
  const link = event.target.closest("#copy-link");
  if (!link || !navigator.clipboard) return;
  event.preventDefault();
  await navigator.clipboard.writeText(link.href);
  link.textContent = _("Copied");
}

/** Listens on the page, so that swapped-in tables work like the first. */
export function connectTable() {
  document.addEventListener("click", click, true);
  document.addEventListener("click", copyLink);
  document.addEventListener("focusin", explain);
  document.addEventListener("focusout", cease);
  document.body.addEventListener("htmx:configRequest", sendPicks);
  document.addEventListener("change", (event) => {
    if (event.target.matches(".pick input")) pick(event.target);
    if (event.target.id === "also" && event.target.value)
      htmx.trigger(document.getElementById("ranking-form"), "submit");
  });
  // The address says all that the page shows, also the columns that were chosen last.
  const canonical = document.getElementById("copy-link")?.getAttribute("href");
  if (canonical && canonical !== path + location.search)
    history.replaceState(history.state, "", canonical + location.hash);
}
