import { useEffect, useState } from "react";

/** A shortcut: one key, or a sequence such as "g t". */
export type Shortcut = { keys: string; label: string; run: () => void };

const stored = "fairlane.shortcuts";

/** Whether shortcuts of one key are on; a reader who dictates turns them off (WCAG 2.1.4). */
export function useShortcutsOn(): [boolean, (on: boolean) => void] {
  const [on, setOn] = useState(() => localStorage.getItem(stored) !== "off");
  return [
    on,
    (next) => {
      localStorage.setItem(stored, next ? "on" : "off");
      setOn(next);
    },
  ];
}

/** Milliseconds within which the second key of a sequence counts. */
const pause = 1200;

/** Runs shortcuts while the focus is in no field and no dialog is open. */
export function useShortcuts(shortcuts: Shortcut[], on: boolean) {
  useEffect(() => {
    if (!on) return;
    let first = "";
    let since = 0;
    const press = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target) || document.querySelector("[role=dialog]")) return;
      const sequence = first && Date.now() - since < pause ? `${first} ${e.key}` : e.key;
      first = "";
      const hit = shortcuts.find((s) => s.keys === sequence);
      if (hit) {
        e.preventDefault();
        hit.run();
      } else if (shortcuts.some((s) => s.keys.startsWith(`${e.key} `))) {
        first = e.key;
        since = Date.now();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [shortcuts, on]);
}

/** Runs a function on Ctrl K and ⌘ K, also while the focus is in a field. */
export function usePaletteKey(open: () => void) {
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
        e.preventDefault();
        open();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [open]);
}

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
