package policy

// outcome is what the levers of a plane make of the target.
type outcome struct {
	predicted *allocation
	bounds    []float64 // by tenant: relative error bound of the predicted rate
	findings  []Finding
	write     func(*Plan) // sets the plane's sections
}
