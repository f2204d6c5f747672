package subnet

// Plane is the kind of congestion control that a fabric's devices run.
type Plane string

// The planes.
const (
	PlaneIB   Plane = "ib"   // InfiniBand: CCT, CCTI_Increase, CCTI_Timer, switch marking
	PlaneRoCE Plane = "roce" // Ethernet with DCQCN NICs and ECN switches
	PlaneWRCC Plane = "wrcc" // Ethernet with WRCC switches and NICs
)

// Planes lists the planes.
func Planes() []Plane { return []Plane{PlaneIB, PlaneRoCE, PlaneWRCC} }
