import { Stack, Title } from "@mantine/core";

/** A box of the overview with its heading; `name` marks it for tests. */
export function Panel({ title, name, children }: { title: string; name: string; children: React.ReactNode }) {
  return (
    <section className="fl-panel" data-part={name} style={{ minWidth: 0 }}>
      <Stack gap="xs">
        <Title order={2}>{title}</Title>
        {children}
      </Stack>
    </section>
  );
}
