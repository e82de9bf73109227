package action_test

// untilRun goes through the steps behind the first one and before "run", as the runner would: a
// step whose condition does not hold is left out, a script is run, a step that uses another action
// gives the cache-hit that hits has for its id. The results are the names of the steps that were
// not left out, and the exit code and log of the one that failed.
func (r *runner) untilRun(hits map[string]string) (ran []string, code int, log string) {
	r.t.Helper()
	for _, s := range r.action.Runs.Steps {
		if s.ID == "run" {
			break
		}
		if s.ID == "prepare" || s.ID == "find" || !r.holds(s.If) {
			continue
		}
		ran = append(ran, s.Name)
		if s.Uses != "" {
			r.known["steps."+s.ID+".outputs.cache-hit"] = hits[s.ID]
			continue
		}
		code, out := r.do(s.ID)
		log += out
		if code != 0 {
			return ran, code, log
		}
	}
	return ran, 0, log
}
