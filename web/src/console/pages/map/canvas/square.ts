import { NodeCircleProgram } from "sigma/rendering";

const fragment = /* glsl */ `
precision highp float;
varying vec4 v_color;
varying vec2 v_diffVector;
varying float v_radius;
uniform float u_correctionRatio;
const vec4 transparent = vec4(0.0, 0.0, 0.0, 0.0);
void main(void) {
  float border = u_correctionRatio * 2.0;
  float dist = max(abs(v_diffVector.x), abs(v_diffVector.y)) - v_radius * 0.72 + border;
  #ifdef PICKING_MODE
  gl_FragColor = dist > border ? transparent : v_color;
  #else
  gl_FragColor = mix(v_color, transparent, clamp(dist / border, 0.0, 1.0));
  #endif
}
`;

/** Switches are squares; the discs are hosts. The square lies in the disc of the same size. */
export class SquareProgram extends NodeCircleProgram {
  override getDefinition() {
    return { ...super.getDefinition(), FRAGMENT_SHADER_SOURCE: fragment };
  }
}
