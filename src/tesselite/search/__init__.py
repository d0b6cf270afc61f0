"""MAP-Elites by ask and tell, and the same loop as machine code."""
