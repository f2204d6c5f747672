import { type AnyRouter, RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { newQueryClient } from "../api/queries";
import { preferred, startI18n } from "../i18n";
import { loadTemplates } from "../i18n/say";
import { Providers } from "./Providers";
import { SignedInOnce, SignInOverlay } from "./SignIn";

/** Starts an application in the root element of its page. */
export async function mount(router: AnyRouter) {
  const place = document.getElementById("root");
  if (!place) return;
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
  void loadTemplates(preferred()); // before a dialog needs them: the page would be hidden while they load
}
