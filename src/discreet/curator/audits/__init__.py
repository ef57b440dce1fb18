"""The audit of everything public: a register of mechanisms with their worst neighbours and broken twins."""
