import { type AnyRouter, RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { newQueryClient } from "../api/queries";
import { startI18n } from "../i18n";
import { Providers } from "./Providers";
import { printLight } from "./print";
import { SignedInOnce, SignInOverlay } from "./SignIn";

/** Starts an application in the root element of its page. */
export async function mount(router: AnyRouter) {
  const place = document.getElementById("root");
  if (!place) return;
  printLight();
  await startI18n();
  createRoot(place).render(
    <StrictMode>
      <Providers queries={newQueryClient()}>
        <SignedInOnce>
          <RouterProvider router={router} />
        </SignedInOnce>
        <SignInOverlay />
      </Providers>
    </StrictMode>,
  );
}
