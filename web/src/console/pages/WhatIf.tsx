import { useTranslation } from "react-i18next";
import { Page } from "../../ui/Page";

export default function WhatIf() {
  const { t } = useTranslation("shell");
  return <Page title={t("nav.what-if")} />;
}
