import { useState } from "react";

/**
 * What a form holds before it is sent: it starts with a value of the page's address, and again with each change of that
 * value, such as by the back button. The form stays mounted, so that the focus stays on the button that sent it.
 */
export function useDraft<T>(value: T): [T, (draft: T) => void] {
  const of = JSON.stringify(value);
  const [state, setState] = useState({ of, draft: value });
  const current = state.of === of ? state : { of, draft: value };
  if (current !== state) setState(current);
  return [current.draft, (draft) => setState({ of, draft })];
}
