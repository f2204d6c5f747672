import "@mantine/core/styles.layer.css";
import "../theme/theme.css";
import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { type QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { setNonce } from "get-nonce";
import { Suspense } from "react";
import { cssVariables, theme } from "../theme/theme";
import { Loading } from "../ui/states";
import { CrashBoundary } from "./CrashBoundary";

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
setNonce(nonce); // for the scroll lock behind dialogs, which makes its own style element

const schemes = localStorageColorSchemeManager({ key: "fairlane.theme" });

/** What every page stands on: theme under the strict policy, cache, and the page of failures. */
export function Providers({ queries, children }: { queries: QueryClient; children: React.ReactNode }) {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      colorSchemeManager={schemes}
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queries}>
        <CrashBoundary>
          <Suspense fallback={<Loading />}>{children}</Suspense>
        </CrashBoundary>
      </QueryClientProvider>
    </MantineProvider>
  );
}
