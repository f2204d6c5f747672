import { createContext } from "react";

/** Whether the page shows a simulated fabric: every exported table then says so. */
export const SimulatedContext = createContext(false);
