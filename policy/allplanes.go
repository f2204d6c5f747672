package policy

// Planes are all planes, InfiniBand first.
func Planes() []Plane { return []Plane{PlaneIB, PlaneRoCE, PlaneWRCC} }
