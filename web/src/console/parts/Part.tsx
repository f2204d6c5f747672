import { Group, Title } from "@mantine/core";

/** A part of the page with its heading. */
export function Part({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: React.ReactNode;
  children: React.ReactNode;
}) {
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{title}</Title>
        {aside}
      </Group>
      {children}
    </section>
  );
}
