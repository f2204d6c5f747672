export { useFieldTexts, useWrite } from "../../ui/useWrite";
