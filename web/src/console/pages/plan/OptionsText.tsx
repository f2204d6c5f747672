import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";

/** Options of the compiler that differ from the defaults, by their names in requests. */
export function OptionsText({ options }: { options: Schemas["CompileOptions"] }) {
  const { t } = useTranslation("plans");
  const set = Object.entries(options);
  if (set.length === 0) return <span>{t("options-default")}</span>;
  return (
    <span className="fl-name">
      {set.map(([name, value]) => (
        <code key={name}>{`${name} = ${JSON.stringify(value)} `}</code>
      ))}
    </span>
  );
}
