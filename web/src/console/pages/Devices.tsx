import { useTranslation } from "react-i18next";
import { Page } from "../../ui/Page";

export default function Devices() {
  const { t } = useTranslation("shell");
  return <Page title={t("nav.devices")} />;
}
