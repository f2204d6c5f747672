import { Table, type TableProps } from "@mantine/core";

/** Header of a column; `end` aligns it with numbers. */
type Head = string | { end: string };

type Props = Omit<TableProps, "data"> & {
  /** Accessible name of the scroll box. */
  label: string;
  /** Width in px below which the table scrolls sideways. */
  minWidth: number;
  /** Height of the scroll box in px, at most. */
  maxHeight?: number;
  head: Head[];
  /** Rows of the body. */
  children: React.ReactNode;
};

/** A short table without order or filter, in a box that scrolls sideways also by keyboard. */
export function ScrollTable({ label, minWidth, maxHeight, head, children, ...table }: Props) {
  return (
    <Table.ScrollContainer
      minWidth={minWidth}
      maxHeight={maxHeight}
      w="100%"
      scrollAreaProps={{ viewportProps: { tabIndex: 0, role: "region", "aria-label": label } }}
    >
      <Table verticalSpacing={4} {...table}>
        <Table.Thead>
          <Table.Tr>
            {head.map((h, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns keep their places, and two may have one header
              <Table.Th key={i} scope="col" ta={typeof h === "string" ? undefined : "end"}>
                {typeof h === "string" ? h : h.end}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
