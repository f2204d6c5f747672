import { useTranslation } from "react-i18next";
import { Page } from "../../ui/Page";

export default function Audit() {
  const { t } = useTranslation("shell");
  return <Page title={t("nav.audit")} />;
}
