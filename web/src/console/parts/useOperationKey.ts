export { useOperationKey } from "../../ui/useOperationKey";
