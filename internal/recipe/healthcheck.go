package recipe

// HealthCheck is a component's health check as the recipes directory has it.
type HealthCheck struct {
	Component string
	// File as a person can open it; for a check inside a recipe, the place where the component is declared.
	File    string
	Content []byte
}

// HealthCheck gives the component's health check: the recipe's own (healthCheckAsserts), otherwise the file that the registry names
// (healthCheck.assertFile). The second result is false if there is neither. The error is that of reading the file.
func (s *Store) HealthCheck(c *Component) (HealthCheck, bool, error) {
	check := HealthCheck{Component: c.Name}
	if c.HealthCheckAsserts != "" {
		check.File, check.Content = c.Declared.String()+" (healthCheckAsserts)", []byte(c.HealthCheckAsserts)
		return check, true, nil
	}
	entry, ok := s.registry[c.Name]
	if !ok || entry.HealthCheck.AssertFile == "" {
		return check, false, nil
	}
	content, err := s.files.read(entry.HealthCheck.AssertFile)
	check.File, check.Content = s.files.display(entry.HealthCheck.AssertFile), content
	return check, true, err
}
