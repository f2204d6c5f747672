import { useEffect, useRef, useState } from "react";

/** Milliseconds between two announcements: a rollout has more steps than a reader can follow. */
const gap = 5000;

/** Says a changing text to screen readers, at most once in five seconds; `urgent` interrupts, for failed gates and devices. */
export function Announce({ text, urgent = false }: { text: string; urgent?: boolean }) {
  const [said, setSaid] = useState("");
  const last = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, last.current + gap - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      setSaid(text);
    }, wait);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className="fl-visually-hidden" role={urgent ? "alert" : "status"} aria-atomic="true">
      {said}
    </div>
  );
}
