import { List, Paper, SimpleGrid, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";

const steps = ["fabric", "tenants", "rollout"] as const;

/** The three steps from an empty service to shares that are enforced. */
export function Steps() {
  const { t } = useTranslation("first");
  return (
    <SimpleGrid cols={{ base: 1, md: 3 }} component="ol" style={{ listStyle: "none", padding: 0, margin: 0 }}>
      {steps.map((step, i) => (
        <Paper component="li" withBorder p="md" key={step} data-step={step}>
          <Title order={2}>{t("step-title", { n: i + 1, title: t(`step.${step}`) })}</Title>
          <Text size="sm">{t(`step-why.${step}`)}</Text>
          <List size="sm" mt="xs">
            <List.Item>{t(`step-changes.${step}`)}</List.Item>
          </List>
        </Paper>
      ))}
    </SimpleGrid>
  );
}
