import { useTranslation } from "react-i18next";
import { Page } from "../../ui/Page";

export default function Members() {
  const { t } = useTranslation("shell");
  return <Page title={t("nav.members")} />;
}
