import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { newQueryClient } from "../api/queries";
import { preferred, startI18n } from "../i18n";
import { loadTemplates } from "../i18n/say";
import { Providers } from "../shell/Providers";
import { SignedInOnce, SignInOverlay } from "../shell/SignIn";
import { router } from "./routes";

const queries = newQueryClient();
const place = document.getElementById("root");

void startI18n().then(() => {
  if (!place) return;
  createRoot(place).render(
    <StrictMode>
      <Providers queries={queries}>
        <SignedInOnce>
          <RouterProvider router={router} />
        </SignedInOnce>
        <SignInOverlay />
      </Providers>
    </StrictMode>,
  );
  void loadTemplates(preferred()); // before a dialog needs them: the page would be hidden while they load
});
