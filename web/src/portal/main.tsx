import "./portal.css";
import { mount } from "../shell/mount";
import { router } from "./routes";

void mount(router);
