import { PasswordInput } from "@mantine/core";
import { useTranslation } from "react-i18next";

type Props = {
  label: string;
  description?: string;
  value: string;
  onChange: (value: string) => void;
  error?: string;
  /** The entry of a password manager: the account's current password, or a generated one. */
  autoComplete?: "new-password" | "current-password";
  required?: boolean;
};

/** A password field: paste and password managers work. */
export function NewPassword({ onChange, autoComplete = "new-password", ...rest }: Props) {
  const { t } = useTranslation("shell");
  return (
    <PasswordInput
      {...rest}
      autoComplete={autoComplete}
      maxLength={256}
      onChange={(e) => onChange(e.currentTarget.value)}
      visibilityToggleButtonProps={{ "aria-label": t("show-password"), tabIndex: 0 }}
    />
  );
}

/** Least characters of a password: the minimum of the contract. */
export const leastPassword = 12;
